import { LANDS_WITHIN_MS } from '@opentill/contracts/payout-terms';
import { readSinceBackup } from './read-since-backup.ts';
import { findUnsettledOnTron } from './store/find-unsettled.ts';
import { CLOCKS_DIFFER_MS, type OpenExpiringWallet } from './wallet-state.ts';

const REQUEST_TIMEOUT_MS = 15_000;

export const openTronWallet: OpenExpiringWallet = ({ db, network, hold, anchor, onProgress }) => {
  const endMs = hold.restoredAt.getTime() + LANDS_WITHIN_MS + CLOCKS_DIFFER_MS;
  let readOverMs: number | null = null;
  return {
    async noteSent() {
      // Loads TronWeb, which would add 0.2 s to every command.
      const { createTronWalletHistoryReader } =
        await import('@opentill/chain-tron/sender/read-wallet-history');
      const history = createTronWalletHistoryReader(network, { requestTimeoutMs: REQUEST_TIMEOUT_MS });
      const { overMs, notVerified } = await readSinceBackup(db, history, hold, anchor, onProgress);
      readOverMs = overMs;
      return notVerified.map(
        (txHash) => `transaction ${txHash}, which this database knows, to be verified by the scanner`,
      );
    },
    async readEnd() {
      const at = new Date(endMs);
      return (readOverMs ?? 0) < endMs
        ? { what: `blocks of ${at.toISOString()} to be verified`, at }
        : undefined;
    },
    findUnsettled: async () =>
      (await findUnsettledOnTron(db, hold)).map(
        (txHash) => `transaction ${txHash}, which was in flight at the backup, to be verified by the scanner`,
      ),
  };
};
