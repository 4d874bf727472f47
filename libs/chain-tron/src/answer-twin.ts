/** In the place of a value: the body is, byte by byte, the one that was known. */
export const SAME = Symbol('the same bytes');

/**
 * One question that several sources are asked: what they answer in the same bytes as the first one is read once. Its value is
 * kept until it is released, its bytes as long as the twin: what is read of them takes many times as much memory.
 */
export interface AnswerTwin {
  /** The value of the first answer for the same bytes, or SAME once that is released; else what `read` gives. */
  valueOf(body: Buffer, read: () => unknown): unknown;
  /** Whether the value is that of the first answer. */
  isFirst(value: unknown): boolean;
  release(): void;
  /** The value of the first answer, read anew. */
  again(): unknown;
}

export function createAnswerTwin(): AnswerTwin {
  let first:
    { readonly body: Buffer; readonly read: () => unknown; readonly value: WeakRef<object> } | undefined;
  let kept: object | undefined;
  return {
    valueOf(body, read) {
      if (first?.body.equals(body) === true) return kept ?? SAME;
      const value = read();
      if (first === undefined && typeof value === 'object' && value !== null) {
        first = { body, read, value: new WeakRef(value) };
        kept = value;
      }
      return value;
    },
    isFirst: (value) => value === SAME || (value !== undefined && first?.value.deref() === value),
    release() {
      kept = undefined;
    },
    again: () => first?.read(),
  };
}
