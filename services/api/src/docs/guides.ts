/** A document of the repository, which build-guides.mjs rendered. */
export interface Guide {
  readonly title: string;
  readonly html: string;
}

/** Path in the repository to its document. */
export type Guides = Readonly<Record<string, Guide>>;

/** The table of contents of all documents. */
export const FIRST_GUIDE = 'docs/README.md';

/** Guides for shops, which the menus list. */
export const GUIDES: readonly (readonly [file: string, title: string, about: string])[] = [
  ['deploy/guides/first-payment.md', 'The first payment', 'a shop of your own in ten minutes'],
  ['libs/sdk/README.md', 'SDK', 'for Node.js, with examples in Python, PHP, Go and Java'],
  ['docs/api.md', 'The merchant API', 'the contract in full'],
  ['services/webhook-sender/docs/callbacks.md', 'Callbacks', 'retries, secrets, late payments'],
  ['deploy/guides/migrating.md', 'Migrating', 'move a shop that speaks this API'],
  ['deploy/guides/going-to-mainnet.md', 'Going to mainnet', 'before real money arrives'],
];
