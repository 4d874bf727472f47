import type { AddressCodec } from './address-codec.ts';
import type { TokenContract } from './transfer.ts';

/** The contract's address, or a coin type (SUI), in canonical form. Undefined for an invalid text. */
export function contractIn(
  codec: Pick<AddressCodec, 'parse' | 'parseContract'>,
  text: string,
): TokenContract | undefined {
  if (codec.parseContract !== undefined) return codec.parseContract(text);
  return codec.parse(text) as string | undefined as TokenContract | undefined;
}
