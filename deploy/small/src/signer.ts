import { composePayoutSigner } from '@opentill/payout-signer/compose';
import { runProcess } from '@opentill/runtime/run-process';
import { environmentOf } from './environment-of.ts';

await runProcess(
  'payout-signer',
  async (env, context) => composePayoutSigner(environmentOf('payout-signer', env), context),
  process.env,
);
