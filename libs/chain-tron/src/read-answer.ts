import type { ReaderError, ReaderErrorCode } from '@opentill/chain/reader-error';
import { readerError } from '@opentill/chain/reader-error';
import { codeOfHttpStatus } from '@opentill/chain-sources/http-status';
import { boundedText } from '@opentill/chain-sources/node-text';
import type { HttpAnswer } from '@opentill/chain-sources/post-json';
import { shownValue } from './node-value.ts';
import { parseAnswer } from './parse-answer.ts';

/** Error texts of java-tron and providers; the first match counts. The test of this file has the texts. */
const BY_WORDING: readonly (readonly [RegExp, ReaderErrorCode])[] = [
  // TronGrid: 403 or 503, "The key exceeds the frequency limit(15), and the query server is suspended for 30s".
  [
    /frequency limit|rate limit|too many requests?|lack of computing resources|request(?:s)? limit/i,
    'RPC_RATE_LIMITED',
  ],
  // java-tron's node.disabledApi, its closed solidity side, and unknown paths.
  [
    /this api is unavailable|api is (?:closed|disabled|not (?:open|supported))|no such endpoint|not found/i,
    'RPC_METHOD_MISSING',
  ],
  [/unauthori[sz]ed|api ?key (?:is )?(?:invalid|disabled|not)|not a valid api ?key/i, 'RPC_FORBIDDEN'],
];
const SUSPENDED = /suspended for (\d{1,5}) ?s/i;

/**
 * java-tron returns some errors with status 200 (`{"Error": "class …"}`). `{}` and `[]` are values: their meaning
 * depends on the call.
 */
export function readTronAnswer(
  answer: HttpAnswer,
  context: { readonly endpoint: string; readonly method: string },
  parseBody: typeof parseAnswer = parseAnswer,
): unknown {
  const code = codeOfHttpStatus(answer.status);
  const value = parse(answer.body, parseBody);
  const reason = errorIn(value) ?? (code === undefined ? undefined : answer.body.toString('utf8', 0, 300));
  if (reason !== undefined) throw refusal(answer, reason, code, context);
  if (value === undefined) {
    const why = `the answer is not complete JSON (${answer.body.length} bytes)`;
    throw readerError('RPC_UNAVAILABLE', why, { ...context, status: answer.status });
  }
  return value;
}

function refusal(
  { status, retryAfterMs }: HttpAnswer,
  reason: string,
  ofStatus: ReaderErrorCode | undefined,
  context: Readonly<Record<string, unknown>>,
): ReaderError {
  const worded = BY_WORDING.find(([wording]) => wording.test(reason))?.[1];
  const isGone = status === 404 || status === 405;
  const code = status === 429 ? 'RPC_RATE_LIMITED' : (worded ?? (isGone ? 'RPC_METHOD_MISSING' : ofStatus));
  const suspended = SUSPENDED.exec(reason)?.[1];
  const waitMs = retryAfterMs ?? (suspended === undefined ? undefined : Number(suspended) * 1_000);
  return readerError(code ?? 'RPC_UNAVAILABLE', `the node returned an error: ${boundedText(reason)}`, {
    ...context,
    status,
    ...(waitMs === undefined ? {} : { retryAfterMs: waitMs }),
  });
}

function parse(body: Buffer, parseBody: typeof parseAnswer): unknown {
  try {
    return parseBody(body);
  } catch {
    return undefined;
  }
}

/** `Error` of java-tron; `error` of a provider's gateway, or `message` with `success: false`. */
function errorIn(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const { Error: ofNode, error, message, success } = value as Record<string, unknown>;
  if (ofNode !== undefined) return typeof ofNode === 'string' ? ofNode : shownValue(ofNode);
  if (typeof error === 'string') return error;
  if (success === false) return typeof message === 'string' ? message : 'success: false';
  return undefined;
}
