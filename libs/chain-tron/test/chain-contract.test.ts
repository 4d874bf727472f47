import { describeChainFamily } from '@opentill/testkit/chain-contract';
import { makeTronHarness } from './tron-harness.ts';

describeChainFamily('TRON on our own node', makeTronHarness);
