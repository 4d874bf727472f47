import { describeChainFamily } from '@opentill/testkit/chain-contract';
import { makeSuiHarness, SUI_TRAITS } from './sui-harness.ts';

describeChainFamily('SUI on our own node', makeSuiHarness, SUI_TRAITS);
