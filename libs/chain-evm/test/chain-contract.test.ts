import { describeChainFamily } from '@opentill/testkit/chain-contract';
import { makeEvmHarness } from './evm-harness.ts';

describeChainFamily('EVM on anvil', makeEvmHarness);
// Where headers' blooms cover other blocks (Avalanche), blocks are read by hash, and empty ones by their receipts.
describeChainFamily('EVM on anvil, without bloom', () => makeEvmHarness({ bloom: false }));
