# 20 POSTs by HTTP::Tiny, which comes with Perl. usage: client.pl URL
use strict;
use HTTP::Tiny;

my $http = HTTP::Tiny->new;
for (1 .. 20) {
    my $answer = $http->post($ARGV[0], { content => "x" x 200 });
    die $answer->{content} unless $answer->{success};
}
