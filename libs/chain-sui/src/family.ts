import type { ChainFamily } from '@opentill/chain/family';
import { suiAddressCodec } from './address-codec.ts';
import type { SuiNetwork, SuiReaderDeps } from './reader.ts';
import { createSuiReader } from './reader.ts';

export const suiFamily: ChainFamily<SuiNetwork, SuiReaderDeps> = {
  family: 'SUI',
  addressCodec: suiAddressCodec,
  createReader: createSuiReader,
};
