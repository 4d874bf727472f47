import readCode from 'jsqr';
import { describe, expect, test } from 'vitest';
import { anOrder } from './support/an-order.ts';
import { paymentUri } from '../src/view/payment-uri.ts';
import { qrCode } from '../src/view/qr-code.ts';

const PIXELS_PER_MODULE = 3;

/** The code as a camera sees it: dark modules, and the glyph as a dark disc of the given radius. */
function decode(html: string): string | undefined {
  const size = Number(/viewBox="0 0 (\d+)/.exec(html)?.[1]);
  const scale = Number(/scale\(([\d.]+)\)/.exec(html)?.[1]);
  const side = size * PIXELS_PER_MODULE;
  const pixels = new Uint8ClampedArray(side * side * 4).fill(255);
  const paint = (x: number, y: number) => pixels.fill(0, (y * side + x) * 4, (y * side + x) * 4 + 3);
  for (const [, x, y, width] of html.matchAll(/M(\d+) (\d+)h(\d+)v1/g)) {
    for (let row = 0; row < PIXELS_PER_MODULE; row += 1) {
      for (let column = 0; column < Number(width) * PIXELS_PER_MODULE; column += 1)
        paint(Number(x) * PIXELS_PER_MODULE + column, Number(y) * PIXELS_PER_MODULE + row);
    }
  }
  const radius = 12 * scale * PIXELS_PER_MODULE;
  const from = Math.floor(side / 2 - radius);
  for (let y = from; y < side - from; y += 1) {
    for (let x = from; x < side - from; x += 1)
      if (Math.hypot(x - side / 2, y - side / 2) < radius) paint(x, y);
  }
  return readCode.default(pixels, side, side)?.data;
}

describe('qrCode', () => {
  const sui = `0x${'ab12'.repeat(16)}`;
  test.each([
    ['an EVM address', anOrder().address],
    ['a TRON address', 'TQn9Y2khEsLJW1ChVWFMSMeRDow5KcbLSE'],
    ['a Sui address', sui],
    ['an EIP-681 payment', paymentUri(anOrder())!],
    ['the longest payment', paymentUri(anOrder({ chain: 'BSC', decimals: 18, amount: '999999999.99' }))!],
  ])('decodes to %s with the glyph in the middle', (_name, text) => {
    const { html } = qrCode(text, 'label', 'ETH');
    expect(html).toContain('<circle');
    expect(decode(html)).toBe(text);
  });

  test('is the same for the same text, and escapes its label', () => {
    const { html } = qrCode('hello', 'a <label>', 'ETH');
    expect(html).toContain('aria-label="a &lt;label&gt;"');
    expect(html).toBe(qrCode('hello', 'a <label>', 'ETH').html);
    expect(html).not.toBe(qrCode('hellp', 'a <label>', 'ETH').html);
  });
});
