/** What has been typed so far, and what it came to. */
export type Typed =
  | { readonly kind: 'MORE' }
  /** The line, without its end. */
  | { readonly kind: 'ENTERED'; readonly text: string }
  | { readonly kind: 'CANCELLED' };

const ENTER = /[\r\n]/;
const CANCEL = ['\u0003', '\u0004'];
const ERASE = /[\u007f\b]/;
const ERASE_LINE = '\u0015';
const ESCAPE = '\u001b';
const CONTROL = /\p{Cc}/u;
/** ECMA-48: what a sequence that begins with ESC [ or ESC O goes on with until its final byte. */
const SEQUENCE_FINAL = /[@-~]/;

/**
 * Reads keys that come from a terminal in raw mode. Arrows and other keys that send escape sequences, also in pieces, and
 * control characters move nothing here and are no part of the secret: `onIgnored` is told, so that whoever typed hears it.
 */
export function createTypedSecret(onIgnored: () => void): (chunk: string) => Typed {
  const typed: string[] = [];
  let escape: 'NONE' | 'BEGUN' | 'SEQUENCE' = 'NONE';

  /** Whether the character belongs to an escape sequence. */
  function isOfSequence(char: string): boolean {
    if (char === ESCAPE) {
      escape = 'BEGUN';
      onIgnored();
      return true;
    }
    if (escape === 'NONE') return false;
    if (escape === 'BEGUN') escape = char === '[' || char === 'O' ? 'SEQUENCE' : 'NONE';
    else if (SEQUENCE_FINAL.test(char)) escape = 'NONE';
    return true;
  }

  return (chunk) => {
    for (const char of chunk) {
      if (ENTER.test(char)) return { kind: 'ENTERED', text: typed.join('') };
      if (CANCEL.includes(char)) return { kind: 'CANCELLED' };
      if (isOfSequence(char)) continue;
      if (ERASE.test(char)) typed.pop();
      else if (char === ERASE_LINE) typed.length = 0;
      else if (CONTROL.test(char)) onIgnored();
      else typed.push(char);
    }
    return { kind: 'MORE' };
  };
}
