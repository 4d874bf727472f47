import { runAlone } from '@opentill/runtime/run-alone';
import { composePayoutSigner } from './compose.ts';

await runAlone('payout-signer', composePayoutSigner, process.env);
