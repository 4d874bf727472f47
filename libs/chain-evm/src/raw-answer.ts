import type { ByteRange } from './json-bytes.ts';
import type { RawAnswer } from './rpc-call.ts';

/** Keeps the brackets of the lists. */
export function withoutLists(body: Buffer, lists: readonly ByteRange[]): Buffer {
  const kept: Buffer[] = [];
  let at = 0;
  for (const { from, to } of lists) {
    kept.push(body.subarray(at, from + 1));
    at = to - 1;
  }
  return Buffer.concat([...kept, body.subarray(at)]);
}

export function watchAnswer(answer: RawAnswer, onFailure: (error: unknown) => void): RawAnswer {
  const watched = <T>(read: () => T): T => {
    try {
      return read();
    } catch (error) {
      onFailure(error);
      throw error;
    }
  };
  const { body, resultsWithout } = answer;
  return {
    body,
    results: () => watched(answer.results),
    ...(resultsWithout && { resultsWithout: (lists) => watched(() => resultsWithout(lists)) }),
  };
}
