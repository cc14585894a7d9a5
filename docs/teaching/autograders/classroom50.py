"""An autograder of Classroom 50, as CLASSROOM/autograders/ASSIGNMENT/autograder.py.

The assignment's runtime is {"go": "1.26"}. Put your clone of zklock and the exercises
of the assignment where the two lines say so. The messages are English; "-lang", "zh"
behind EXERCISES makes them Chinese.

Classroom 50 的评分程序，放在 CLASSROOM/autograders/ASSIGNMENT/autograder.py。

作业的 runtime 是 {"go": "1.26"}。下面有两行要改：CLONE 写你的 zklock 克隆，
EXERCISES 写这次作业有哪些练习。评分信息是英文的；在 EXERCISES 后面加上
"-lang", "zh"，就是中文的。
"""

import os
import subprocess

CLONE = "https://github.com/YOUR-ORGANISATION/zklock"
EXERCISES = "1,2,3"

submission = os.getcwd()
zklock = os.path.join(os.environ["RUNNER_TEMP"], "zklock")
subprocess.run(["git", "clone", "--quiet", "--depth=1", CLONE, zklock], check=True)
subprocess.run(
    ["go", "run", "./docs/exercises", "grade", submission,
     "-exercise", EXERCISES, "-classroom50", os.path.join(submission, "result.json")],
    cwd=zklock, check=True)
