import type { ChainFamily } from '@opentill/chain/family';
import { tronAddressCodec } from './address-codec.ts';
import type { TronNetwork, TronReaderDeps } from './reader.ts';
import { createTronReader } from './reader.ts';

export const tronFamily: ChainFamily<TronNetwork, TronReaderDeps> = {
  family: 'TRON',
  addressCodec: tronAddressCodec,
  createReader: createTronReader,
};
