package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"example.com/zklock/internal/language"
	"example.com/zklock/internal/locktest/chinese"
)

// book has the sentences of the command and those of the graders. Results, the cache
// and the files that programs read are English; a sentence is translated where it is
// printed, or written for a person.
var book = chinese.Messages.And(words)

// sayIn is fmt.Sprintf in a language.
func sayIn(l language.Language, format string, args ...any) string {
	if l == language.Chinese {
		return book.Sprintf(format, args...)
	}
	return fmt.Sprintf(format, args...)
}

// say is fmt.Sprintf in the reader's language.
func (a *app) say(format string, args ...any) string { return sayIn(a.language, format, args...) }

// translated is an error in the reader's language.
func (a *app) translated(err error) error {
	if a.language == language.Chinese {
		return book.Error(err)
	}
	return err
}

// A flagTranslator translates what the flag package writes.
type flagTranslator struct{ *app }

func (s flagTranslator) Write(text []byte) (int, error) {
	s.print("%s", string(text))
	return len(text), nil
}

// page is the name of a page of an exercise in the reader's language, if there is
// one.
func (a *app) page(e *exercise, name string) string {
	twin := a.language.Page(name)
	if _, err := os.Stat(filepath.Join(e.dir(a.root), twin)); err == nil {
		return twin
	}
	return name
}

// stamps are those of a Chinese page, by which a test finds what was translated.
var stamps = regexp.MustCompile(`(?m)^<!-- en:[0-9a-f]+ -->\n`)

// words are the sentences of this command.
var words = map[string]string{
	strings.TrimSpace(usage): `会自己评分的练习。请在仓库的根目录执行：

  go run ./docs/exercises list             哪些已经完成，得了几分
  go run ./docs/exercises next             下一个该做哪个
  go run ./docs/exercises start 3          练习 3 的目标，并把骨架代码的注释换成你的语言
  go run ./docs/exercises watch [3]        每次保存，都重新评分
  go run ./docs/exercises hint 3           练习 3 的下一条提示
  go run ./docs/exercises show 3           解答，要先拿到满分
  go run ./docs/exercises grade DIR...     供教师使用：给学生的文件夹评分

每个命令都可以加 -lang en 或 -lang zh。go test ./docs/exercises/_03-predecessor 也给练习 3 评分。`,
	"exercise %d is begun, and its file stays as it is; this begins again: git checkout %s":            "练习 %d 已经动手，它的文件保持原样；要从头再来：git checkout %s",
	"the stub of exercise %d is in Chinese; this has the English one: git checkout %s":                 "练习 %d 的骨架代码是中文的；要换回英文：git checkout %s",
	"%s: this comment has no Chinese twin: %s":                                                         "%s：这条注释没有对应的中文：%s",
	"The comments of %s are in English. This writes them in Chinese: go run ./docs/exercises start %d": "%s 的注释现在是英文。换成中文：go run ./docs/exercises start %d",
	"safety":                           "安全性",
	"liveness":                         "活性",
	"faults":                           "故障",
	"cost":                             "代价",
	"basic":                            "基本",
	"full":                             "全部",
	"one ephemeral node":               "一个临时节点",
	"a fair queue":                     "公平队列",
	"watch only the node before yours": "只监听自己的前一个节点",
	"the owner may lock again":         "所有者可以再次加锁",
	"give up in time":                  "按时放弃等待",
	"the reply to create is lost: find the node again":    "create 的应答丢失：把节点找回来",
	"the resource refuses an old token":                   "资源拒绝旧令牌",
	"as many inside as there are permits":                 "有几个许可，就最多进几个",
	"many readers or one writer":                          "多个读者，或者一个写者",
	"a hand-over that nobody doubts":                      "不容置疑的交接",
	"schedules that only a wrong lock fails":              "只有错误的锁才通不过的调度",
	"break this lock":                                     "弄坏这个锁",
	"exercise %d, %s":                                     "练习 %d：%s",
	"there is no exercise %q: give a number from 1 to %d": "没有 %q 这个练习：请给出 1 到 %d 的编号",
	"it does not begin: an init has not come to an end in %v; it had no more time because another attempt of this student never began": "程序没有开始运行：有一个 init 在 %v 内没有结束；时间只给这么多，因为这个学生的另一份答卷一直没有开始运行",
	"it does not begin: an init has not come to an end in %v":                                                                          "程序没有开始运行：有一个 init 在 %v 内没有结束",
	"it has not come to an end in %v":             "%v 内没有运行完",
	"it was interrupted":                          "已中断",
	"it uses more than %s of memory":              "用掉的内存超过 %s",
	"it starts processes: there are more than %d": "它启动了别的进程：现在多于 %d 个",
	"it is over":                  "已经结束",
	"go does not start: %w":       "go 命令无法启动：%v",
	"go test -c: %w":              "go test -c：%v",
	"go build: %w\n%s":            "go build：%v\n%s",
	"does not compile: %s":        "编译不通过：%s",
	"does not compile: %v":        "编译不通过：%v",
	"%s: a lock is written in Go": "%s：锁要用 Go 编写",
	"%s is not a regular file":    "%s 不是普通文件",
	"too much to read: an attempt has fewer than %d files and less than 1 MiB":                                                   "内容太多：一份答卷的文件要少于 %d 个，总共小于 1 MiB",
	"%s has no Go files: copy the exercise's %s into it":                                                                         "%s 里没有 Go 文件：请把练习的 %s 复制进去",
	"%s: no exercise has a package with this name: keep the package clause of the stub":                                          "%s：没有哪个练习的包叫这个名字；请保留骨架代码的 package 子句",
	"%s: this is package %s, and %v must be package %s":                                                                          "%s：这里是 package %s，而%v必须是 package %s",
	"%s imports %s, which a lock does not need; it may import %s, and the packages of the standard library that README.md lists": "%s 导入了 %s，锁用不着它；可以导入 %s，以及 README.md 列出的标准库的包",
	"%s: import %s under a name, not with a dot":                                                                                 "%s：导入 %s 时请给出名字，不要用点",
	"%s: %s.%s is the client's own lock, and this exercise is to write one":                                                      "%s：%s.%s 是客户端库自带的锁，而这个练习要你自己写锁",
	"%s: %s.%s opens a connection of its own, and a lock uses the one that New is given":                                         "%s：%s.%s 会另开连接，而锁应当使用传给 New 的连接",
	"there is no folder %s": "没有文件夹 %s",
	"%s is not a folder: give the folder with the student's files":                                          "%s 不是文件夹：请给出学生文件所在的文件夹",
	"%s has no attempt: neither a file of one nor a folder such as %s":                                      "%s 里没有答卷：既没有答卷的文件，也没有 %s 这样的文件夹",
	"write the results to this `file`":                                                                      "把结果写入这个`文件`",
	"write a page with the failing cases to this `file`":                                                    "把没有通过的用例写成页面，存入这个`文件`",
	"write all that is known of the results to this `file`":                                                 "把全部结果写入这个`文件`",
	"write one student's results to this `file`, as Gradescope's results.json":                              "把一个学生的结果写入这个`文件`，格式是 Gradescope 的 results.json",
	"write one student's results to this `file`, as GitHub Classroom's reporter reads them: JSON in base64": "把一个学生的结果写入这个`文件`，格式是 GitHub Classroom 的 reporter 读取的 base64 编码 JSON",
	"-%s is for one student's folder, and there are %d: its format has room for one":                        "-%s 只能用于一个学生的文件夹，现在有 %d 个：这种格式只容得下一个",
	"exercise %d was not asked for":                                                                         "没有要求评练习 %d",
	"%d of %d mutants are dead":                                                                             "%[2]d 个变异体，已死 %[1]d 个",
	"%s; fails: %s":                                                                                         "%s；没有通过：%s",
	"fails: %s":                                                                                             "没有通过：%s",
	"give it as 512MiB or 2GiB, at least 64MiB":                                                             "请写成 512MiB 或 2GiB 这样，至少 64MiB",
	"grade these `numbers` only: 3, or 1,2,3":                                                               "只评这些`编号`的练习：3，或 1,2,3",
	"time that one attempt may take to build, and to run":                                                   "一份答卷编译和运行各自最多用多久",
	"`memory` that one attempt may use":                                                                     "一份答卷最多使用的`内存`",
	"attempts that are graded at the same time":                                                             "同时评几份答卷",
	"`address` of the lab, in which that page opens a schedule that fails: go run ./docs/lab -out lab.html writes it": "实验室的`地址`，页面用它打开出错的调度；生成它的命令是 go run ./docs/lab -out lab.html",
	"grade needs the students' folders: go run ./docs/exercises grade students/*":                                     "grade 需要学生的文件夹：go run ./docs/exercises grade students/*",
	"-limit and -j must be more than 0": "-limit 和 -j 必须大于 0",
	"%s, %s, in %v.":                    "%s，%s，用时 %v。",
	"1 folder":                          "1 个文件夹",
	"%d folders":                        "%d 个文件夹",
	"1 attempt":                         "1 份答卷",
	"%d attempts":                       "%d 份答卷",
	"The attempts had a network: this system does not let an account like this take it away.": "答卷运行时有网络：在这个系统上，这样的账户无权断开网络。",
	"%s has exercise %d, which was not asked for":                                             "%s 里是练习 %d，没有要求评它",
	"the stub, as it was": "原样的骨架代码",
	"Similar in the shape of the program; read both before you judge:": "程序结构相似；下结论之前请把两份都读一遍：",
	"student":         "学生",
	"exercise":        "练习",
	"points":          "得分",
	"cases":           "用例",
	"attempts":        "答卷",
	"as ours":         "与解答相同",
	"lines as ours":   "与解答相同的行",
	"similar":         "相似",
	"time":            "用时",
	"%d of %d":        "%d/%d",
	"%d of %d graded": "已评 %d 份，共 %d 份",
	"Grades":          "成绩",
	"A link to the lab opens the page that this command writes beside this one:":                                                  "通往实验室的链接，打开的是与本页放在一起的实验室页面，由这个命令生成：",
	"Attempts that resemble each other":                                                                                           "彼此相似的答卷",
	"The shape of the programs is compared: names, comments and the order of functions do not count. Read both before you judge.": "比较的是程序的结构：名字、注释、函数的次序都不算。下结论之前请把两份都读一遍。",
	"attempt of":                   "学生",
	"and attempt of":               "与谁相似",
	"Each attempt":                 "每份答卷",
	"what fails":                   "没有通过的",
	"what has died":                "已死的变异体",
	"1 case: %s":                   "1 个用例：%s",
	"%d cases, first: %s":          "%d 个用例，第一个：%s",
	"printed":                      "打印的内容",
	"Open the schedule in the lab": "在实验室里打开这个调度",
	"In the lab:":                  "在实验室里：",
	"FAIL: %s":                     "没有通过：%s",
	"It has printed:\n%s":          "它打印了：\n%s",
	"The schedule of %q, in the lab: go run ./docs/lab %s-open -scene '%s'": "在实验室里播放 %q 的调度：go run ./docs/lab %s-open -scene '%s'",
	"Its cases pass, and bring no points because of this one: %s":           "这一组的用例都通过了，但因为下面这个用例，不给分：%s",
	"Exercise %d, %s: %s":                       "练习 %d，%s：%s",
	"nothing was handed in":                     "没有交",
	"the folder":                                "文件夹",
	"%3d %%  exercise %d  %s, %s":               "%3d %%  练习 %d  %s，%s",
	"our solution":                              "我们的解答",
	"the results cannot be written: %w":         "无法写入结果：%v",
	"Flags of %s:":                              "%s 的选项：",
	"grade once and end":                        "只评一次就结束",
	"show it though the exercise is not solved": "练习没有做完也显示",
	"the `language`, en or zh; otherwise that of LC_ALL or LANG": "`语言`，en 或 zh；不写则取自 LC_ALL 或 LANG",
	"give en or zh":                                                           "请写 en 或 zh",
	"flag provided but not defined: -%s":                                      "没有 -%s 这个选项",
	"flag needs an argument: -%s":                                             "选项 -%s 需要一个值",
	"invalid value %q for flag -%s: %s":                                       "选项 -%[2]s 的值 %[1]q 不对：%[3]s",
	"invalid boolean value %q for -%s: %s":                                    "选项 -%[2]s 的值 %[1]q 不对：%[3]s",
	"parse error":                                                             "无法解析",
	"there is no command %q; go run ./docs/exercises lists them":              "没有 %q 这个命令；执行 go run ./docs/exercises 可以看到所有命令",
	"%s needs the number of an exercise: go run ./docs/exercises %s 3":        "%s 需要练习的编号：go run ./docs/exercises %s 3",
	"%s takes no argument %q":                                                 "%s 不接受参数 %q",
	"%s is not in a clone of this repository: change into one and try again":  "%s 不在本仓库的克隆里：请进入克隆的目录再试",
	"%s is not there: git checkout docs/exercises/%s/%s":                      "%s 不存在：git checkout docs/exercises/%s/%s",
	"there is no answer":                                                      "没有答案",
	"it was not played: %s":                                                   "没有播放：%s",
	"the schedule ends the lab's engine (%s): choose another way to the goal": "这个调度让实验室的引擎中止了（%s）：请换一条路到达目标",
	"no waiting yet":                                                          "还不等待",
	"Lock waits":                                                              "Lock 会等待",
	"when things break":                                                       "出故障的时候",
	"Lock waits for its turn":                                                 "Lock 等着轮到自己",
	"Lock watches one node":                                                   "Lock 只监听一个节点",
	"Stage %d of %d, %s (%d minutes): %d of its %d cases pass.":               "第 %d 阶段（共 %d 个）：%s（%d 分钟）。本阶段有 %[6]d 个用例，已通过 %[5]d 个。",
	"how many hints are open cannot be kept, so the next one does not open: set the environment variable EXERCISES_CACHE to a folder that can be written (%w)": "已打开几条提示无法记录下来，所以下一条打不开：请把环境变量 EXERCISES_CACHE 设为可写的文件夹（%v）",
	"error: %s":                        "错误：%s",
	"not begun":                        "还没有开始",
	"done":                             "完成",
	"not safe, %s":                     "不安全，%s",
	"begun, %s":                        "进行中，%s",
	"%d of %d cases":                   "%[2]d 个用例，通过 %[1]d 个",
	"%3d  %-16s %2d of %2d points  %s": "%3d  %-16s %2d 分，满分 %2d 分  %s",
	"%-16s %2d of %2d points":          "%-14s %2d 分，满分 %2d 分",
	"in all":                           "合计",
	"All exercises are done. Try a lock of your own: README.md, Tests.":                                                    "所有练习都已完成。可以试着测试你自己的锁，见 README.zh-CN.md 的测试一节。",
	"Read  docs/exercises/%s/%s\nWrite docs/exercises/%s/%s\nand let this run beside it: go run ./docs/exercises watch %d": "先读 docs/exercises/%s/%s\n再写 docs/exercises/%s/%s\n同时让这个命令一直运行：go run ./docs/exercises watch %d",
	"Waits for the next change of docs/exercises/%s; ctrl-c ends.":                                                         "等待 docs/exercises/%s 的下一次改动；按 ctrl-c 结束。",
	"%s (%d points)": "%s（%d 分）",
	"All %d cases pass: %d of %d points. Compare with ours: go run ./docs/exercises show %d\nThen: go run ./docs/exercises next": "%d 个用例全部通过：得 %d 分，满分 %d 分。与我们的解答对照：go run ./docs/exercises show %d\n然后：go run ./docs/exercises next",
	"%d of %d cases pass: %d of %d points (%s). A lock that is not safe gets no points. Begin with this case.":                   "%[2]d 个用例，通过 %[1]d 个：得 %[3]d 分，满分 %[4]d 分（%[5]s）。不安全的锁不得分。先解决上面这个用例。",
	"%d of %d cases pass: %d of %d points (%s). Points are given once all cases of the group safety pass. Begin with this case.": "%[2]d 个用例，通过 %[1]d 个：得 %[3]d 分，满分 %[4]d 分（%[5]s）。安全性这一组的用例全部通过之后才给分。先解决上面这个用例。",
	"%d of %d cases pass: %d of %d points (%s). Begin with this case.":                                                           "%[2]d 个用例，通过 %[1]d 个：得 %[3]d 分，满分 %[4]d 分（%[5]s）。先解决上面这个用例。",
	"%s %d of %d":     "%s %d/%d 分",
	", ":              "，",
	"%s. ":            "%s。",
	"FAIL (%s): %s":   "没有通过（%s）：%s",
	"It has printed:": "它打印了：",
	"See it in the lab, with your lock:\n    go run ./docs/lab%s -open -scene '%s'": "在实验室里用你的锁播放：\n    go run ./docs/lab%s -open -scene '%s'",
	"Hint %d of %d\n\n%s": "提示 %d（共 %d 条）\n\n%s",
	"There are no more. The cases say the rest: go run ./docs/exercises watch %d": "没有更多提示了。剩下的，看用例的消息：go run ./docs/exercises watch %d",
	"%s has no hints": "%s 里没有提示",
	"exercise %d is not solved yet (%s): go run ./docs/exercises hint %d helps, and show -give-up %d shows the solution": "练习 %d 还没有做完（%s）：go run ./docs/exercises hint %d 给你提示，show -give-up %d 直接显示解答",
}
