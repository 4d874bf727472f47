import { runAlone } from '@opentill/runtime/run-process';
import { composePayoutSigner } from './compose.ts';

await runAlone('payout-signer', composePayoutSigner, process.env);
