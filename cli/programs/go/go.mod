module onewrite-cli-program

go 1.21
