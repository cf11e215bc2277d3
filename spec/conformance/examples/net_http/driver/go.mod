module driver

go 1.22
