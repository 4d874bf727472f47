import { describe, expect, it } from 'vitest';
import { createTypedSecret } from './typed-secret.ts';

function type(...chunks: readonly string[]) {
  let ignored = 0;
  const read = createTypedSecret(() => (ignored += 1));
  const outcomes = chunks.map(read);
  return { ...outcomes.at(-1)!, ignored };
}
const entered = (text: string, ignored = 0) => ({ kind: 'ENTERED', text, ignored });

describe('createTypedSecret', () => {
  it.each<[string, readonly string[], object]>([
    ['ends at the end of the line', ['corr', 'ect\r'], entered('correct')],
    ['accepts a pasted line', ['correct horse\nrest'], entered('correct horse')],
    ['erases whole characters', ['a\u{1F434}b\u007f\u007fc\r'], entered('ac')],
    ['erases the line', ['wrong\u0015right\r'], entered('right')],
    ['ignores arrow keys', ['ab\u001b[D\u001b[Cc\r'], entered('abc', 2)],
    ['ignores an arrow key that arrives in pieces', ['ab\u001b', '[', '1;5', 'Dc\r'], entered('abc', 1)],
    ['ignores keypad keys', ['ab\u001bOPc\u001b[3~\r'], entered('abc', 2)],
    ['ignores bracketed-paste marks', ['\u001b[200~correct horse\u001b[201~\r'], entered('correct horse', 2)],
    ['ignores letters with the meta key', ['a\u001bbc\r'], entered('ac', 1)],
    ['ignores control characters', ['a\tb\u0001c\u009b\r'], entered('abc', 3)],
    ['cancels on Ctrl-C', ['abc\u0003\r'], { kind: 'CANCELLED', ignored: 0 }],
    ['waits for the rest of the line', ['abc'], { kind: 'MORE', ignored: 0 }],
  ])('%s', (_, chunks, expected) => {
    expect(type(...chunks)).toEqual(expected);
  });
});
