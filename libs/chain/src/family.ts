import type { Family } from '@opentill/domain/chains';
import type { AddressCodec } from './address-codec.ts';
import type { ChainReader } from './chain-reader.ts';

/** The parts of a family; each family package exports one of these from its `family.ts`. */
export interface ChainFamily<Network, ReaderDeps> {
  readonly family: Family;
  readonly addressCodec: AddressCodec;
  /** Opens no connection: the first call makes the first request. */
  createReader(network: Network, deps: ReaderDeps): ChainReader;
}
