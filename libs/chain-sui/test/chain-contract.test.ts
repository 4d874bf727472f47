import { describeChainFamily } from '@opentill/testkit/chain-contract';
import { makeSuiHarness, SUI_TRAITS } from './sui-harness.ts';

describeChainFamily('SUI on the devnet', makeSuiHarness, SUI_TRAITS);
