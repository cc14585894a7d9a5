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
	holder := i18n.Textf("the holder", "持有者")
	lock := i18n.Textf("Lock of %s fails", "%s的 Lock 失败", holder)
	require.Equal(t, i18n.Text{En: "Lock of the holder fails", Zh: "持有者的 Lock 失败"}, lock)
	require.Equal(t, "竞争者 3 的 Lock 失败", i18n.Textf("Lock of %s fails", "%s的 Lock 失败", i18n.Textf("contender %d", "竞争者 %d", 3)).Zh,
		"a blank is between Chinese and other letters")
	require.Equal(t, i18n.Text{En: `3 of "x" wrapped`, Zh: `包装了 "x" 的 3`}, i18n.Textf("%d of %q wrapped", "包装了 %[2]q 的 %[1]d", 3, "x"))
	require.Equal(t, "持有者\n3", i18n.Join([]i18n.Text{holder, i18n.Same("3")}, "\n").In(i18n.Chinese))
	require.Equal(t, i18n.Text{En: "the holder; a, b", Zh: "持有者；a、b"}, i18n.Join([]i18n.Text{holder, i18n.List([]string{"a", "b"})}, "; "))
	require.Equal(t, "the holder", fmt.Sprint(holder))
}

func TestATextInJSON(t *testing.T) {
	for text, want := range map[i18n.Text]string{
		{En: "waits < 1 s", Zh: "等待"}: `{"en":"waits \u003c 1 s","zh":"等待"}`,
		i18n.Same("EOF"):              `"EOF"`,
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
	inner := i18n.Errorf("Unlock fails: %w", "Unlock 失败：%v", io.EOF)
	require.ErrorIs(t, inner, io.EOF)
	require.EqualError(t, inner, "Unlock fails: EOF")
	require.Equal(t, "Unlock 失败：EOF", i18n.TextOf(inner).Zh)
	outer := i18n.Errorf("the waiter: %w", "等待者：%v", inner)
	require.ErrorIs(t, outer, io.EOF)
	require.Equal(t, i18n.Text{En: "the waiter: Unlock fails: EOF", Zh: "等待者：Unlock 失败：EOF"}, i18n.TextOf(outer))

	other := fmt.Errorf("of a library: %w", inner)
	require.Equal(t, i18n.Same(other.Error()), i18n.TextOf(other), "its own words are in front")
	require.NotErrorIs(t, i18n.Errorf("it says %v", "它说 %v", io.EOF), io.EOF)
	require.Equal(t, "EOF", i18n.TextOf(errors.New("EOF")).Zh)
}
