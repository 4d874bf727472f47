export type Typed =
  | { readonly kind: 'MORE' }
  | { readonly kind: 'ENTERED'; readonly text: string }
  | { readonly kind: 'CANCELLED' };

const ENTER = /[\r\n]/;
const CANCEL = ['\u0003', '\u0004'];
const ERASE = /[\u007f\b]/;
const ERASE_LINE = '\u0015';
const ESCAPE = '\u001b';
const CONTROL = /\p{Cc}/u;
/** ECMA-48: final byte of a sequence that begins with ESC [ or ESC O. */
const SEQUENCE_FINAL = /[@-~]/;

/** Raw mode. Calls `onIgnored` for control characters and escape sequences, so that the caller can ring the bell. */
export function createTypedSecret(onIgnored: () => void): (chunk: string) => Typed {
  const typed: string[] = [];
  let escape: 'NONE' | 'BEGUN' | 'SEQUENCE' = 'NONE';

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
