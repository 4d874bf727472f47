import { checkPng } from './check-png.ts';
import { checkSvg } from './check-svg.ts';

export const LOGO_BYTES_MAX = 64 * 1024;

export type CheckedLogo =
  | { readonly type: 'image/svg+xml' | 'image/png' }
  /** Completes the sentence "The logo …". */
  | { readonly problem: string };

const PNG_START = 0x89;

/** A logo is shown to the merchant's customers: only forms that cannot run or load anything are accepted. */
export function checkLogo(bytes: Uint8Array): CheckedLogo {
  if (bytes.length > LOGO_BYTES_MAX)
    return { problem: `has ${bytes.length} bytes; at most 65,536 are allowed` };
  const isPng = bytes[0] === PNG_START;
  const problem = isPng ? checkPng(bytes) : checkSvg(bytes);
  if (problem !== undefined) return { problem };
  return { type: isPng ? 'image/png' : 'image/svg+xml' };
}
