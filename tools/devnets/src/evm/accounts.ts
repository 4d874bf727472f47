import { HDNodeWallet } from 'ethers';

/** The mnemonic that every development chain knows: its keys are public, its coins worth nothing. */
export const DEV_MNEMONIC = 'test test test test test test test test test test test junk';

/** Accounts with these indexes hold a billion of each test token beside a million of the native coin. */
export const RICH_ACCOUNT_INDEXES = [0, 1, 2, 3, 4] as const;

/** The account that deploys the tokens; its first nonces fix their addresses. */
export const DEPLOYER_INDEX = 0;

/** The account that demo payments come from. */
export const CUSTOMER_INDEX = 1;

export interface DevAccount {
  /** With its EIP-55 checksum. */
  readonly address: string;
  /** 32 bytes, hex with 0x. */
  readonly privateKey: string;
}

/** The account m/44'/60'/0'/0/index of the development mnemonic. */
export function devAccount(index: number): DevAccount {
  const { address, privateKey } = HDNodeWallet.fromPhrase(DEV_MNEMONIC, undefined, `m/44'/60'/0'/0/${index}`);
  return { address, privateKey };
}
