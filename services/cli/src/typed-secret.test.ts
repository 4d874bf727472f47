import { describe, expect, it } from 'vitest';
import { createTypedSecret } from './typed-secret.ts';

function type(...chunks: readonly string[]) {
  let ignored = 0;
  const read = createTypedSecret(() => (ignored += 1));
  const outcomes = chunks.map(read);
  return { ...outcomes.at(-1)!, ignored };
}
const entered = (text: string, ignored = 0) => ({ kind: 'ENTERED', text, ignored });

describe('a secret that is typed', () => {
  it.each<[string, readonly string[], object]>([
    ['ends with the line', ['corr', 'ect\r'], entered('correct')],
    ['may be pasted whole', ['correct horse\nrest'], entered('correct horse')],
    ['is erased by whole characters', ['a\u{1F434}b\u007f\u007fc\r'], entered('ac')],
    ['is erased at once', ['wrong\u0015right\r'], entered('right')],
    ['has no arrow in it', ['ab\u001b[D\u001b[Cc\r'], entered('abc', 2)],
    ['has no arrow in it that comes in pieces', ['ab\u001b', '[', '1;5', 'Dc\r'], entered('abc', 1)],
    ['has no key of a keypad in it', ['ab\u001bOPc\u001b[3~\r'], entered('abc', 2)],
    ['has no marks of pasting in it', ['\u001b[200~correct horse\u001b[201~\r'], entered('correct horse', 2)],
    ['has no letter with the meta key in it', ['a\u001bbc\r'], entered('ac', 1)],
    ['has no control characters in it', ['a\tb\u0001c\u009b\r'], entered('abc', 3)],
    ['is not there when somebody gives up', ['abc\u0003\r'], { kind: 'CANCELLED', ignored: 0 }],
    ['goes on', ['abc'], { kind: 'MORE', ignored: 0 }],
  ])('%s', (_, chunks, expected) => {
    expect(type(...chunks)).toEqual(expected);
  });
});
