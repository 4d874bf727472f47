import { describeChainFamily } from '@opentill/testkit/chain-contract';
import { makeTronHarness } from './tron-harness.ts';

describeChainFamily('TRON on the devnet', makeTronHarness);
