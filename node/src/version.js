/** The version of this package. A constant, because a bundle has no package.json beside it. */
export const VERSION = '0.1.0'
