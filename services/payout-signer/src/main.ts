import { runProcess } from '@opentill/runtime/run-process';
import { composePayoutSigner } from './compose.ts';

await runProcess('payout-signer', composePayoutSigner, process.env);
