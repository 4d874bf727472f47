import type { ChainFamily } from '@opentill/chain/family';
import { evmAddressCodec } from './address.ts';
import type { EvmNetwork, EvmReaderDeps } from './reader.ts';
import { createEvmReader } from './reader.ts';

/** Ethereum, BSC, Polygon PoS, the Avalanche C-Chain and their test networks. */
export const evmFamily: ChainFamily<EvmNetwork, EvmReaderDeps> = {
  family: 'EVM',
  addressCodec: evmAddressCodec,
  createReader: createEvmReader,
};
