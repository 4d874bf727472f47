import type { IncomingMessage } from 'node:http';
import type { ApiErrorCode } from '@opentill/contracts/http/api-errors';

/** Maximum body size (docs/api.md section 1). */
const BODY_LIMIT_BYTES = 64 * 1024;

const JSON_MEDIA_TYPE = /^application\/json[ \t]*(?:;|$)/i;

/**
 * Reads a request body: only `application/json`, not encoded, at most 64 KiB. Undefined when the client disconnected
 * before the end of the body.
 */
export async function readBody(request: IncomingMessage): Promise<Buffer | ApiErrorCode | undefined> {
  if (!JSON_MEDIA_TYPE.test(request.headers['content-type'] ?? ''))
    return refuseBody(request, 'MEDIA_TYPE_UNSUPPORTED');
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    return refuseBody(request, 'MEDIA_TYPE_UNSUPPORTED');
  }
  if (Number(request.headers['content-length'] ?? 0) > BODY_LIMIT_BYTES)
    return refuseBody(request, 'BODY_TOO_LARGE');
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length <= BODY_LIMIT_BYTES) chunks.push(chunk);
      else resolve('BODY_TOO_LARGE');
    });
    request.on('end', () =>
      resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)),
    );
    request.on('error', () => resolve(undefined));
    request.on('close', () => resolve(undefined));
  });
}

/** Drains the rest of the body, so that the client reads the response. */
function refuseBody(request: IncomingMessage, code: ApiErrorCode): ApiErrorCode {
  request.resume();
  return code;
}
