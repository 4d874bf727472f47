import type { ChainFamily } from '@opentill/chain/family';
import { suiAddressCodec } from './address-codec.ts';
import type { SuiNetwork, SuiReaderDeps } from './reader.ts';
import { createSuiReader } from './reader.ts';

/** SUI, and its test network. */
export const suiFamily: ChainFamily<SuiNetwork, SuiReaderDeps> = {
  family: 'SUI',
  addressCodec: suiAddressCodec,
  createReader: createSuiReader,
};
