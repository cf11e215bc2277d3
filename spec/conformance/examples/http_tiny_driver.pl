#!/usr/bin/perl
# Perl's HTTP::Tiny under the judge: python -m onewrite_conformance --driver "perl http_tiny_driver.pl" --client stock
use strict;
use warnings;
use Digest::SHA 'sha256_hex';
use HTTP::Tiny;
use JSON::PP;
$| = 1;
my $client;
my %reply_to = (
    hello => sub {
        $_[0]{client} eq 'stock' or return skipped => 'only stock';
        return (protocol => 2, client => 'stock', adapter => 'HTTP::Tiny', runtime => "Perl $^V", pid => $$,
            base => {name => 'HTTP::Tiny', version => "$HTTP::Tiny::VERSION"}, capabilities => ['body:bytes']);
    },
    open => sub {
        my %options = %{$_[0]{options}};
        $options{proxy} || $options{tls_ca} && !eval { require IO::Socket::SSL } and return skipped => 'no proxies, or no TLS';
        my $keep = !defined $options{keepalive} || $options{keepalive};
        $client = HTTP::Tiny->new(keep_alive => $keep, verify_SSL => 1, SSL_options => {SSL_ca_file => $options{tls_ca}});
        return client_id => 1;
    },
    close => sub { undef $client; return ok => \1 },
    bye   => sub { return ok => \1 },
    request => sub {
        my ($m, $body) = ($_[0], $_[0]{body} // {kind => 'none'});
        $body->{kind} =~ /^(none|bytes)$/ && !exists $body->{b64} && !$m->{cancel_after_ms} or return skipped => 'too much';
        my %request = (headers => {});
        push @{$request{headers}{$_->[0]}}, $_->[1] for @{$m->{headers} // []};
        $request{content} = ($body->{fill} // 'x') x $body->{size} if $body->{kind} eq 'bytes';
        $client->timeout(($m->{timeout_ms} // 60000) / 1000);
        my $r = $client->request($m->{method}, $m->{url}, \%request);
        my $kind = $r->{content} =~ /timed out/i ? 'timeout' : $r->{content} =~ /refused/i ? 'connect' : 'other';
        return (outcome => 'error', error => {kind => $kind, type => 'HTTP::Tiny', message => $r->{content}}) if $r->{status} == 599;
        return (outcome => 'response', status => 0 + $r->{status}, headers => [map { [$_, $r->{headers}{$_}] } sort keys %{$r->{headers}}],
            body_bytes => length $r->{content}, body_sha256 => sha256_hex($r->{content}));
    },
);
while (my $line = <STDIN>) {
    my $message = decode_json($line);
    my $answer = $reply_to{$message->{cmd}} // sub { return skipped => 'unknown command' };
    print encode_json({seq => $message->{seq}, $answer->($message)}), "\n";
}
