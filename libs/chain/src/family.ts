import type { Family } from '@opentill/domain/chains';
import type { AddressCodec } from './address-codec.ts';
import type { ChainReader } from './chain-reader.ts';

/** Everything a family offers; each family package exports one of these from its `family.ts`. */
export interface ChainFamily<Network, ReaderDeps> {
  readonly family: Family;
  readonly addressCodec: AddressCodec;
  /** Opens nothing: the first request is made by the first call. */
  createReader(network: Network, deps: ReaderDeps): ChainReader;
}
