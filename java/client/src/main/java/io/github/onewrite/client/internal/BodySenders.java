package io.github.onewrite.client.internal;

/** Chooses the sender of a body. */
public final class BodySenders {
    private BodySenders() {}

    public static BodySender of(BodySender.Parts parts) {
        BodySource body = parts.request().body();
        if (body instanceof BodySource.Bytes bytes) {
            return new FixedSender(parts, bytes);
        }
        if (body instanceof BodySource.OfFile file) {
            return new FileSender(parts, file);
        }
        return new PublishedSender(parts, (BodySource.Published) body);
    }
}
