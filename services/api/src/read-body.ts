import type { IncomingMessage } from 'node:http';
import { quote } from './explain/describe-value.ts';
import type { Problem } from './problem.ts';

/** Maximum body size (docs/api.md section 1). */
const BODY_LIMIT_BYTES = 64 * 1024;

const TOO_LARGE: Problem = {
  code: 'BODY_TOO_LARGE',
  detail: `body: at most ${BODY_LIMIT_BYTES} bytes are accepted`,
};

const MEDIA_TYPES = {
  'application/json': /^application\/json[ \t]*(?:;|$)/i,
  'application/x-www-form-urlencoded': /^application\/x-www-form-urlencoded[ \t]*(?:;|$)/i,
};

/**
 * Reads a request body: only of the media type, not encoded, at most 64 KiB. Undefined when the client disconnected
 * before the end of the body.
 */
export async function readBody(
  request: IncomingMessage,
  mediaType: keyof typeof MEDIA_TYPES = 'application/json',
): Promise<Buffer | Problem | undefined> {
  const type = request.headers['content-type'];
  if (!MEDIA_TYPES[mediaType].test(type ?? '')) {
    const problem = type === undefined ? 'is missing' : `is ${quote(type)}`;
    const detail = `Content-Type: ${problem}; send ${mediaType}`;
    return refuseBody(request, { code: 'MEDIA_TYPE_UNSUPPORTED', detail });
  }
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    const detail = `Content-Encoding: is ${quote(encoding)}; send the body uncompressed`;
    return refuseBody(request, { code: 'MEDIA_TYPE_UNSUPPORTED', detail });
  }
  if (Number(request.headers['content-length'] ?? 0) > BODY_LIMIT_BYTES)
    return refuseBody(request, TOO_LARGE);
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length <= BODY_LIMIT_BYTES) chunks.push(chunk);
      else resolve(TOO_LARGE);
    });
    request.on('end', () =>
      resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)),
    );
    request.on('error', () => resolve(undefined));
    request.on('close', () => resolve(undefined));
  });
}

/** Drains the rest of the body, so that the client reads the response. */
function refuseBody(request: IncomingMessage, problem: Problem): Problem {
  request.resume();
  return problem;
}
