// Tests of texts and errors that have both languages.
package i18n_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/i18n"
	"example.com/zklock/internal/testenv"
)

func TestWhatIsPutIntoATextIsInItsLanguage(t *testing.T) {
	holder := i18n.Text("the holder")
	lock := i18n.Textf("Lock of %s fails", holder) // the Chinese of both is in zh/internal-i18n.po
	require.Equal(t, i18n.Both("Lock of the holder fails", "持有者的 Lock 失败"), lock)
	require.Equal(t, "x 的 Lock 失败", i18n.Textf("Lock of %s fails", "x").In(i18n.Chinese), "a blank is between Chinese and other letters")
	require.Equal(t, i18n.Both("2 of 3 cases", "3 个用例，通过 2 个"), i18n.Textf("%d of %d cases", 2, 3))
	require.Equal(t, "持有者\n3", i18n.Join([]i18n.Text{holder, i18n.Same("3")}, "\n").In(i18n.Chinese))
	require.Equal(t, i18n.Both("the holder; a, b", "持有者；a、b"), i18n.Join([]i18n.Text{holder, i18n.List([]string{"a", "b"})}, "; "))
	require.Equal(t, "the holder", fmt.Sprint(holder))
}

func TestATextInJSON(t *testing.T) {
	for text, want := range map[i18n.Text]string{
		i18n.Both("waits < 1 s", "等待"): `{"en":"waits \u003c 1 s","zh":"等待"}`,
		i18n.Same("EOF"):               `"EOF"`,
	} {
		b := testenv.Must(json.Marshal(text))(t)
		require.Equal(t, want, string(b))
		var again i18n.Text
		require.NoError(t, json.Unmarshal(b, &again))
		require.Equal(t, text, again)
	}
	require.Error(t, json.Unmarshal([]byte("7"), new(i18n.Text)))
}

func TestAnErrorSaysItInBothLanguages(t *testing.T) {
	inner := i18n.Errorf("standard output: %w", io.EOF)
	require.ErrorIs(t, inner, io.EOF)
	require.EqualError(t, inner, "standard output: EOF")
	require.Equal(t, "标准输出：EOF", i18n.TextOf(inner).In(i18n.Chinese))
	outer := i18n.Errorf("%s: %w", i18n.Text("the waiter"), inner)
	require.ErrorIs(t, outer, io.EOF)
	require.Equal(t, i18n.Both("the waiter: standard output: EOF", "等待者：标准输出：EOF"), i18n.TextOf(outer))

	other := fmt.Errorf("of a library: %w", inner)
	require.Equal(t, i18n.Same(other.Error()), i18n.TextOf(other), "its own words are in front")
	require.NotErrorIs(t, i18n.Errorf("%s: %v", "it", io.EOF), io.EOF)
	require.Equal(t, "EOF", i18n.TextOf(errors.New("EOF")).In(i18n.Chinese))
}
