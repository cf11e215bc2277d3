package io.github.onewrite.driver;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Driver protocol, version 2: one JSON object per line. Replies may come in any order. */
final class Protocol {
    private static final int VERSION = 2;

    private final Gson gson = new GsonBuilder().disableHtmlEscaping().create();
    private final OutputStream out;
    private final Map<Integer, Client> clients = new ConcurrentHashMap<>();
    private final ExecutorService workers = Executors.newCachedThreadPool(task -> {
        Thread thread = new Thread(task, "driver-worker");
        thread.setDaemon(true);
        return thread;
    });
    private Kinds kind;
    private List<String> apis;
    private int lastClient;

    Protocol(OutputStream out) {
        this.out = out;
    }

    void run(InputStream in) throws IOException {
        BufferedReader lines = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            if (line.isBlank()) {
                continue;
            }
            JsonObject message = JsonParser.parseString(line).getAsJsonObject();
            int seq = message.get("seq").getAsInt();
            String command = message.get("cmd").getAsString();
            if (command.equals("bye")) {
                reply(seq, ok());
                return;
            }
            answer(seq, command, message);
        }
    }

    private void answer(int seq, String command, JsonObject message) {
        guarded(seq, () -> {
            switch (command) {
                case "hello" -> reply(seq, hello(message));
                case "open" -> reply(seq, open(message));
                case "close" -> reply(seq, close(message));
                case "request" -> request(seq, message);
                case "batch" -> batch(seq, message);
                case "load" -> {
                    Load load = new Load(client(message), message);
                    workers.execute(() -> guarded(seq, () -> reply(seq, load.run(workers))));
                }
                case "serve" -> reply(seq, serve(message));
                default -> throw new Skip("unknown command " + command);
            }
        });
    }

    private JsonObject hello(JsonObject message) {
        int version = Json.integer(message, "protocol", VERSION);
        if (version != VERSION) {
            throw new Skip("this driver speaks protocol " + VERSION + ", not " + version);
        }
        String name = message.get("client").getAsString();
        kind = Kinds.of(name);
        apis = kind.apis();
        String first = apis.get(0);
        WarmUp.run(kind, first);
        JsonObject base = new JsonObject();
        base.addProperty("name", Kinds.baseName(first));
        base.addProperty("version", Kinds.baseVersion(first));
        JsonObject json = new JsonObject();
        json.addProperty("protocol", VERSION);
        json.addProperty("client", name);
        json.addProperty("adapter", "java");
        json.addProperty("version", Kinds.version());
        json.add("base", base);
        json.addProperty("runtime", System.getProperty("java.vm.name") + " " + Runtime.version());
        json.addProperty("pid", ProcessHandle.current().pid());
        json.add("apis", Json.strings(apis));
        json.add("capabilities", Json.strings(kind.capabilities(first)));
        return json;
    }

    private JsonObject open(JsonObject message) {
        if (kind == null) {
            throw new Skip("hello comes first: it names the client kind");
        }
        JsonObject options = Json.has(message, "options") ? message.getAsJsonObject("options") : new JsonObject();
        Options parsed = Options.parse(options, apis.get(0));
        if (!apis.contains(parsed.api())) {
            throw new Skip("api " + parsed.api() + " is not one of " + apis);
        }
        Client client;
        try {
            client = kind.open(parsed);
        } catch (IllegalArgumentException refused) {
            return new Reply().failed(refused).toJson();
        }
        int id = ++lastClient;
        clients.put(id, client);
        JsonObject json = new JsonObject();
        json.addProperty("client_id", id);
        return json;
    }

    private JsonObject close(JsonObject message) {
        Client client = clients.remove(message.get("client_id").getAsInt());
        if (client != null) {
            client.close();
        }
        return ok();
    }

    private void request(int seq, JsonObject message) {
        Client client = client(message);
        send(
                client,
                List.of(message),
                replies -> {
                    replies.get(0).records = end(client, replies);
                    reply(seq, replies.get(0).toJson());
                },
                seq);
    }

    /** Whose record it is, the hook is not told. */
    private void batch(int seq, JsonObject message) {
        Client client = client(message);
        List<JsonObject> requests = new ArrayList<>();
        message.getAsJsonArray("requests").forEach(each -> requests.add(each.getAsJsonObject()));
        send(
                client,
                requests,
                replies -> {
                    JsonObject json = new JsonObject();
                    JsonArray records = end(client, replies);
                    if (records != null) {
                        json.add("records", records);
                    }
                    JsonArray results = new JsonArray();
                    for (int i = 0; i < replies.size(); i++) {
                        JsonObject result = replies.get(i).toJson();
                        if (Json.has(requests.get(i), "seq")) {
                            result.add("seq", requests.get(i).get("seq"));
                        }
                        results.add(result);
                    }
                    json.add("results", results);
                    reply(seq, json);
                },
                seq);
    }

    private static JsonArray end(Client client, List<Reply> replies) throws InterruptedException {
        return client.recording == null ? null : client.recording.end(replies);
    }

    private interface Answer {
        void of(List<Reply> replies) throws Exception;
    }

    /** Sends all at once, and answers when all have ended. */
    private void send(Client client, List<JsonObject> requests, Answer answer, int seq) {
        if (client.recording != null) {
            client.recording.begin();
        }
        List<CompletableFuture<Reply>> sent = new ArrayList<>();
        for (JsonObject request : requests) {
            long started = System.nanoTime();
            sent.add(client.send(Call.parse(request)).thenApply(reply -> {
                reply.elapsedNanos = System.nanoTime() - started;
                return reply;
            }));
        }
        CompletableFuture.allOf(sent.toArray(CompletableFuture[]::new))
                .thenRunAsync(
                        () -> guarded(
                                seq,
                                () -> answer.of(sent.stream()
                                        .map(CompletableFuture::join)
                                        .toList())),
                        workers);
    }

    private JsonObject serve(JsonObject message) throws IOException {
        JsonObject json = new JsonObject();
        String upstream = message.get("upstream").getAsString();
        json.addProperty("port", Bridge.start(client(message), upstream, Json.integer(message, "port", 0), workers));
        return json;
    }

    private Client client(JsonObject message) {
        Client client = clients.get(message.get("client_id").getAsInt());
        if (client == null) {
            throw new Skip("no open client " + message.get("client_id"));
        }
        return client;
    }

    private interface Work {
        void run() throws Exception;
    }

    /** A fault of this driver must never be reported as an error of the library. */
    private void guarded(int seq, Work work) {
        JsonObject json = new JsonObject();
        try {
            work.run();
            return;
        } catch (Exception | LinkageError | AssertionError e) {
            if (Reply.unwrap(e) instanceof Skip skip) {
                json.addProperty("skipped", skip.getMessage());
            } else {
                StringWriter trace = new StringWriter();
                e.printStackTrace(new PrintWriter(trace));
                json.addProperty("crashed", trace.toString());
            }
        }
        reply(seq, json);
    }

    private static JsonObject ok() {
        JsonObject json = new JsonObject();
        json.addProperty("ok", true);
        return json;
    }

    private void reply(int seq, JsonObject json) {
        json.addProperty("seq", seq);
        byte[] line = (gson.toJson(json) + "\n").getBytes(StandardCharsets.UTF_8);
        synchronized (out) {
            try {
                out.write(line);
                out.flush();
            } catch (IOException e) {
                System.err.println("the reader of stdout is gone: " + e);
            }
        }
    }
}
