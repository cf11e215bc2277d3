module onewrite/cli/programs/servers

go 1.19
