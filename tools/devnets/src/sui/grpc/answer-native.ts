import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { nodeHeaders, type AnswerDeps } from './answer-web.ts';
import { messageFrame, readMessage, statusHeaders } from './frames.ts';
import { runCall } from './run-call.ts';

const BODY_BYTES = 4 * 1024 * 1024;

export async function answerNative(
  { node, methods }: AnswerDeps,
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
): Promise<void> {
  const path = headers[':path'] ?? '';
  const gone = new AbortController();
  stream.on('close', () => gone.abort());
  stream.on('error', () => {});
  const body = await readBody(stream);
  let trailers = statusHeaders({ code: 0, message: '' });
  stream.on('wantTrailers', () => stream.sendTrailers(trailers));
  stream.respond(
    { ':status': 200, 'content-type': 'application/grpc', ...nodeHeaders(node) },
    { waitForTrailers: true },
  );
  const ending = await runCall({
    node,
    method: methods.get(path),
    path,
    message: readMessage(body),
    call: { signal: gone.signal, header: (name) => headers[name]?.toString() },
    send: async (message) => {
      if (stream.destroyed) return;
      await new Promise<void>((resolve) => stream.write(messageFrame(message), () => resolve()));
    },
  });
  if (stream.destroyed) return;
  if (ending === 'cut') {
    stream.session?.destroy();
    return;
  }
  trailers = statusHeaders(ending);
  stream.end();
}

async function readBody(stream: ServerHttp2Stream): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += (chunk as Buffer).length;
    if (bytes > BODY_BYTES) throw new Error('the body is too large');
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks);
}
