/** RFC 8032, section 5.1: p = 2^255 - 19, and d of the curve -x² + y² = 1 + d x² y². */
const P = 2n ** 255n - 19n;
const D = mod(-121665n * inverse(121666n));
const SIGN_BIT = 2n ** 255n;
const HEX_KEY = /^[0-9a-f]{64}$/;

/** Extended coordinates need not be: a key is looked at once. */
type Point = readonly [x: bigint, y: bigint];

/**
 * Whether 64 lower-case hex digits are an ed25519 public key that somebody can have a private key for: the canonical
 * encoding of a point of the curve that is not one of the eight of small order. For those signatures can be made up
 * without any key; RFC 8032 leaves it to others to look, and not every version of every library does.
 */
export function isEd25519PublicKey(hex: string): boolean {
  if (!HEX_KEY.test(hex)) return false;
  const encoded = BigInt(`0x${Buffer.from(hex, 'hex').reverse().toString('hex')}`);
  const y = encoded & (SIGN_BIT - 1n);
  if (y >= P) return false;
  const x = squareRoot(mod(mod(y * y - 1n) * inverse(D * y * y + 1n)));
  if (x === undefined) return false;
  // Eight times a point of small order is the neutral element (0, 1); the sign of x makes no difference to that.
  const [eightX, eightY] = double(double(double([x, y])));
  return !(eightX === 0n && eightY === 1n);
}

/** The addition law of RFC 8032 for a point and itself. */
function double([x, y]: Point): Point {
  const xx = mod(x * x);
  const yy = mod(y * y);
  const dxxyy = mod(D * xx * yy);
  return [mod(2n * x * y * inverse(1n + dxxyy)), mod((yy + xx) * inverse(1n - dxxyy))];
}

/** RFC 8032, section 5.1.3: p is 5 modulo 8. Undefined where there is no root. */
function squareRoot(square: bigint): bigint | undefined {
  const candidate = power(square, (P + 3n) / 8n);
  if (mod(candidate * candidate) === square) return candidate;
  const other = mod(candidate * power(2n, (P - 1n) / 4n));
  return mod(other * other) === square ? other : undefined;
}

function inverse(value: bigint): bigint {
  return power(mod(value), P - 2n);
}

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  for (let [square, rest] = [mod(base), exponent]; rest > 0n; square = mod(square * square), rest >>= 1n) {
    if ((rest & 1n) === 1n) result = mod(result * square);
  }
  return result;
}

function mod(value: bigint): bigint {
  const rest = value % P;
  return rest < 0n ? rest + P : rest;
}
