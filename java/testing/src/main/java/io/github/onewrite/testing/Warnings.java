package io.github.onewrite.testing;

import java.text.MessageFormat;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** What onewrite logs, until this is closed. */
public final class Warnings implements AutoCloseable {
    private final List<String> texts = new CopyOnWriteArrayList<>();
    private final Logger logger = Logger.getLogger("io.github.onewrite");
    private final Handler handler = new Handler() {
        @Override
        public void publish(LogRecord log) {
            texts.add(MessageFormat.format(log.getMessage(), log.getParameters()));
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
    };

    public Warnings() {
        logger.addHandler(handler);
    }

    public List<String> texts() {
        return texts;
    }

    @Override
    public void close() {
        logger.removeHandler(handler);
    }
}
