package locks

import (
	"slices"
	"time"

	"example.com/zklock/internal/bugs/scenes"
	"example.com/zklock/internal/explore/player"
	"example.com/zklock/internal/i18n"
)

// listingLocks are the entries of the articles' listings: of each bug the lock that has it, and the one that
// cures it, in the same world.
func listingLocks() (list []Lock) {
	cured := Text("The lock of this project that cures it, in the same world: the schedule ends without a violation.")
	schedules, fates, levels := scenes.Schedules(), scenes.Fates(), scenes.Levels()
	for _, s := range scenes.WithScene {
		number := slices.IndexFunc(levels, func(b scenes.Bug) bool { return b.ID == s.ID })
		note := Text("An article's listing. docs/bugs.md explains the bug.")
		if s.Substitute.String() != "" {
			note = i18n.Both(s.Substitute.String()+" docs/bugs.md explains the bug.", s.Substitute.In(i18n.Chinese)+"docs/bugs.zh-CN.md 讲解了这个 bug。")
		}
		scene := &Scene{
			Lock: s.ID, Contenders: s.World.Number(), Seed: 1,
			Shared: s.World.Shared, Kinds: s.World.Kinds, Faults: s.World.Faults, Choices: schedules[s.ID].Choices,
		}
		curedScene := *scene
		curedScene.Lock, curedScene.Choices = s.Ours.Name, nil
		list = append(list,
			Lock{
				Name: s.ID, Group: Museum, Title: s.Heading(), Note: note,
				Scene: scene, Goal: &Goal{Kind: s.Kinds[0], Text: s.Goal, Reached: s.Reached}, Story: storyOf(s, *scene),
				Level: &Level{Level: s.Level, Number: number, Chapter: scenes.Chapters[s.Chapter()], Plays: s.Way()[:s.Plays()]},
				World: s.World, Subject: withSession(s.World.Lock),
				Fates: percents(fates[s.ID]),
			},
			Lock{
				Name: s.Ours.Name, Group: Museum, Title: i18n.Both(s.ID+", cured", s.ID+"，已修复"),
				Note: cured, Scene: &curedScene, World: s.Ours, Subject: withSession(s.Ours.Lock),
			},
		)
	}
	return list
}

// storyOf returns the story of a bug, nil if its entry has none. It plays the bug's scene, or a schedule of its own.
func storyOf(b scenes.Bug, scene Scene) *Story {
	if len(b.Stops) == 0 {
		return nil
	}
	if own := b.Play; own != nil {
		scene.Contenders, scene.Kinds, scene.Faults, scene.Choices = own.Contenders, own.Kinds, own.Faults, own.Choices
	}
	return &Story{scene, b.Stops}
}

// percents turns numbers of tries that end in the bug into percentages of all tries.
func percents(fates []int) (list []int) {
	for _, n := range fates {
		list = append(list, n*100/scenes.FateTries)
	}
	return list
}

// withSession gives a lock the session timeout of its clients. A lock that watches over its session by the clock keeps
// the one that it was made with.
func withSession(s player.Subject) func(time.Duration) player.Subject {
	return func(session time.Duration) player.Subject {
		if !s.Timed {
			s.Session = session
		}
		return s
	}
}
