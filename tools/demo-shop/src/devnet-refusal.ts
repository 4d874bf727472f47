/** A devnet cannot make the requested payment. The message says what to correct. */
export class DevnetRefusal extends Error {}
