# 20 POSTs by an HTTP library of Perl. usage: client.pl LIBRARY URL
use strict;
use HTTP::Tiny;

my ($library, $url) = @ARGV;
if ($library eq "tiny") {
    my $http = HTTP::Tiny->new;
    for (1 .. 20) {
        my $answer = $http->post($url, { content => "x" x 200 });
        die $answer->{content} unless $answer->{success};
    }
    exit;
}
require LWP::UserAgent;
require Socket;
push @LWP::Protocol::http::EXTRA_SOCK_OPTS, Sockopts => [[Socket::IPPROTO_TCP(), Socket::TCP_NODELAY(), 1]] if $library eq "lwp_nodelay";
my $lwp = LWP::UserAgent->new(keep_alive => 1);
for (1 .. 20) {
    my @parts = ("x" x 100) x 2;
    my $body = $library eq "lwp_large" ? "x" x 9000 : $library eq "lwp_stream" ? sub { shift @parts // "" } : "x" x 200;
    my $answer = $lwp->request(HTTP::Request->new(POST => $url, [Content_Type => "text/plain"], $body));
    die $answer->status_line unless $answer->is_success;
}
