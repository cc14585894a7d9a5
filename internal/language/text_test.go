package language_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/zklock/internal/language"
)

func TestWhatIsPutIntoATextIsInItsLanguage(t *testing.T) {
	holder := language.Say("the holder", "持有者")
	lock := language.Say("Lock of %s fails", "%s的 Lock 失败", holder)
	require.Equal(t, language.Text{En: "Lock of the holder fails", Zh: "持有者的 Lock 失败"}, lock)
	require.Equal(t, "竞争者 3 的 Lock 失败", language.Say("Lock of %s fails", "%s的 Lock 失败", language.Say("contender %d", "竞争者 %d", 3)).Zh,
		"a blank is between Chinese and other letters")
	require.Equal(t, language.Text{En: `3 of "x" wrapped`, Zh: `包装了 "x" 的 3`}, language.Say("%d of %q wrapped", "包装了 %[2]q 的 %[1]d", 3, "x"))
	require.Equal(t, "持有者\n3", language.Join([]language.Text{holder, language.Same("3")}, "\n").In(language.Chinese))
	require.Equal(t, language.Text{En: "the holder; a, b", Zh: "持有者；a、b"}, language.Join([]language.Text{holder, language.List([]string{"a", "b"})}, "; "))
	require.Equal(t, "the holder", fmt.Sprint(holder))
}

func TestATextInJSON(t *testing.T) {
	for text, want := range map[language.Text]string{
		{En: "waits < 1 s", Zh: "等待"}: `{"en":"waits \u003c 1 s","zh":"等待"}`,
		language.Same("EOF"):          `"EOF"`,
	} {
		b, err := json.Marshal(text)
		require.NoError(t, err)
		require.Equal(t, want, string(b))
		var again language.Text
		require.NoError(t, json.Unmarshal(b, &again))
		require.Equal(t, text, again)
	}
	require.Error(t, json.Unmarshal([]byte("7"), new(language.Text)))
}

func TestAnErrorSaysItInBothLanguages(t *testing.T) {
	inner := language.Errorf("Unlock fails: %w", "Unlock 失败：%v", io.EOF)
	require.ErrorIs(t, inner, io.EOF)
	require.EqualError(t, inner, "Unlock fails: EOF")
	require.Equal(t, "Unlock 失败：EOF", language.TextOf(inner).Zh)
	outer := language.Errorf("the waiter: %w", "等待者：%v", inner)
	require.ErrorIs(t, outer, io.EOF)
	require.Equal(t, language.Text{En: "the waiter: Unlock fails: EOF", Zh: "等待者：Unlock 失败：EOF"}, language.TextOf(outer))

	other := fmt.Errorf("of a library: %w", inner)
	require.Equal(t, language.Same(other.Error()), language.TextOf(other), "its own words are in front")
	require.NotErrorIs(t, language.Errorf("it says %v", "它说 %v", io.EOF), io.EOF)
	require.Equal(t, "EOF", language.TextOf(errors.New("EOF")).Zh)
}
