import { connectWallet, type Connection, type ConnectRequest } from './connect-wallet.ts';
import { openDialog, type DialogDeps } from './open-dialog.ts';
import type { WalletOutcome } from '../wallets/wallet.ts';

type Wanted = Pick<ConnectRequest, 'projectId' | 'relayUrl' | 'chainId'>;

/** Opens the dialog with the code, and connects the wallet that scans it. */
export async function connectByCode(
  wanted: Wanted,
  deps: DialogDeps,
): Promise<Connection | WalletOutcome | null> {
  const shopName = document.querySelector('.brand')?.textContent || location.host;
  return connectWallet({ ...wanted, shopName, pageOrigin: location.origin, dialog: openDialog(deps) });
}
