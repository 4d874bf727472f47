import type { GatewayError } from '@opentill/domain/gateway-error';
import { walletError, type WalletErrorCode } from '../wallet-error.ts';

export function invalidPolicy(mistakes: readonly string[]): GatewayError<WalletErrorCode> {
  return walletError('POLICY_INVALID', `the policy is invalid: ${mistakes.join('; ')}`, { mistakes });
}
