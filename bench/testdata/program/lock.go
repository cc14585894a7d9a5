// Program is not a package that can be imported.
package main

func main() {}
