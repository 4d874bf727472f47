import type { AddressCodec } from './address-codec.ts';
import type { TokenContract } from './transfer.ts';

/** What names a token, in canonical form: its contract's address, or a coin type (SUI). Undefined for what names none. */
export function contractIn(
  codec: Pick<AddressCodec, 'parse' | 'parseContract'>,
  text: string,
): TokenContract | undefined {
  if (codec.parseContract !== undefined) return codec.parseContract(text);
  return codec.parse(text) as string | undefined as TokenContract | undefined;
}
