import { GatewayError } from '@opentill/domain/gateway-error';
import type { SourceErrorCode } from './sources/source.ts';

export interface SourceAnswer {
  readonly body: string;
  /** Time that a cache kept it. */
  readonly ageMs: number;
}

const ANSWER_BYTES_MAX = 262_144;

/** Follows no redirect. @throws GatewayError SOURCE_UNREACHABLE */
export async function fetchAnswer(url: string, timeoutMs: number, stop: AbortSignal): Promise<SourceAnswer> {
  try {
    const response = await fetch(url, {
      redirect: 'error',
      headers: { accept: 'application/json, text/xml, text/plain', 'user-agent': 'opentill-rates' },
      signal: AbortSignal.any([stop, AbortSignal.timeout(timeoutMs)]),
    });
    if (response.status !== 200) {
      await response.body?.cancel();
      throw unreachable(`status ${response.status}`);
    }
    const age = /^\d{1,9}$/.exec(response.headers.get('age') ?? '')?.[0] ?? '0';
    return { body: await readText(response), ageMs: Number(age) * 1_000 };
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    throw unreachable(cause instanceof Error ? cause.message : 'no answer', error);
  }
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > ANSWER_BYTES_MAX) throw unreachable(`an answer above ${ANSWER_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

export function unreachable(detail: string, cause?: unknown): GatewayError<SourceErrorCode> {
  return new GatewayError('SOURCE_UNREACHABLE', detail, { retryable: true, cause });
}
